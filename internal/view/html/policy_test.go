package html

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A browser runs the script of the page and applies its style, because the policy has their
// hashes, and nothing else that could get into the page.
func TestThePolicyAllowsOnlyThePage(t *testing.T) {
	run, err := Read(strings.NewReader(lines()))
	require.NoError(t, err)
	var page, fleet strings.Builder
	require.NoError(t, Write(&page, run))
	require.NoError(t, WriteFleet(&fleet, Fleet{Began: time.Unix(0, 0)}))
	for text, elements := range map[string][]string{page.String(): {"style", "script"}, fleet.String(): {"style"}} {
		found := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`).FindStringSubmatch(text)
		require.NotNil(t, found)
		policy := html.UnescapeString(found[1])
		require.NotContains(t, policy, "unsafe")
		require.Contains(t, policy, "default-src 'none'; base-uri 'none'; form-action 'none'; ")
		require.Equal(t, len(elements), strings.Count(policy, "sha256-"))
		for _, element := range elements {
			inline := regexp.MustCompile(`(?s)<`+element+`>(.*?)</`+element+`>`).FindAllStringSubmatch(text, -1)
			require.Len(t, inline, 1, element)
			sum := sha256.Sum256([]byte(inline[0][1]))
			require.Contains(t, policy, element+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
		}
		require.NotRegexp(t, `(?i)<[^>]* (style|on[a-z]+)=`, regexp.MustCompile(`(?s)<script.*?</script>`).ReplaceAllString(text, ""), "the policy would block it")
	}
}
