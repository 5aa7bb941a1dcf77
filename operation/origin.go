package operation

import (
	"regexp"
)

// commitVariables are the environment variables in which CI systems pass the Git commit
// of a pipeline: GitHub and Gitea, GitLab and Woodpecker, Jenkins, Azure Pipelines,
// CircleCI, Bitbucket, Buildkite, Drone, Travis, CodeBuild, Semaphore, AppVeyor,
// Codefresh, TeamCity, Cloud Build and Argo CD.
func commitVariables() []string {
	return []string{
		"GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT", "BUILD_SOURCEVERSION",
		"CIRCLE_SHA1", "BITBUCKET_COMMIT", "BUILDKITE_COMMIT", "DRONE_COMMIT_SHA", "TRAVIS_COMMIT",
		"CODEBUILD_RESOLVED_SOURCE_VERSION", "SEMAPHORE_GIT_SHA", "APPVEYOR_REPO_COMMIT",
		"CF_REVISION", "BUILD_VCS_NUMBER", "COMMIT_SHA", "ARGOCD_APP_REVISION",
	}
}

// commit returns the Git commit of the pipeline that this is a step of; "" if there is
// none. Only hexadecimal values count, so that nothing else is stored.
func commit(getenv func(string) string) string {
	isHash := regexp.MustCompile(`^[0-9a-f]{7,64}$`)
	for _, name := range commitVariables() {
		if value := getenv(name); isHash.MatchString(value) {
			return value
		}
	}
	return ""
}
