# The functions of the commands in sources.yaml. A command runs in the checkout of the stream's
# first repository, named $repository, and prints the stream.
set -euo pipefail
export LC_ALL=C # the order of the files that a pattern matches

# part SOURCE prints its input as a part of the stream: a separator, the source, and the text
# without its first separator, and without separators and empty lines at its end.
part() {
	printf -- '---\n# Source: %s\n' "$1"
	awk '/^---$/ && !text { held = ""; next }
		/^(---)?$/ { held = held $0 "\n"; next }
		{ printf "%s%s\n", held, $0; held = ""; text = 1 }'
}

# files FILE... prints files of the checkout.
files() {
	local file
	for file; do part "$repository/$file" <"$file"; done
}

# kustomization FOLDER builds a kustomization.
kustomization() {
	kustomize build "$1" | part "kubectl kustomize $repository/$1"
}

# namespace NAME prints the Namespace that helm install --create-namespace creates.
namespace() {
	printf 'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s\n' "$1" | part "(added: helm --create-namespace)"
}

# chart HELM RELEASE FOLDER NAMESPACE FLAG... renders a chart.
chart() {
	local helm=$1 release=$2 folder=$3 namespace=$4
	shift 4
	"$helm" template "$release" "$folder" -n "$namespace" "$@" | part "helm template $release $repository/$folder -n $namespace"
}

# edit FILE EXPRESSION edits a file of the checkout with sed.
edit() {
	sed -E "$2" "$1" >"$1.edited"
	mv "$1.edited" "$1"
}

