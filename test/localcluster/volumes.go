package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
)

// volumeRoot is where kube-controller-manager's hostpath provisioner makes a folder for each volume. The path is
// fixed in its source (pkg/volume/hostpath), so it is the one place outside the cluster's folder.
const volumeRoot = "/tmp/hostpath_pv"

const auditLog = "audit.log"

// auditPolicy records every request once, when it has been answered. Of new PersistentVolumes also
// the content, for `down`, which removes this cluster's folders; of status writes also the answer,
// for the resourceVersion that each write made.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: RequestResponse
  verbs: [update, patch]
  resources:
  - {group: "", resources: [persistentvolumeclaims/status, pods/status]}
  - {group: apps, resources: ["*/status"]}
  - {group: batch, resources: ["*/status"]}
  - {group: apiextensions.k8s.io, resources: ["*/status"]}
- level: Request
  verbs: [create]
  resources: [{group: "", resources: [persistentvolumes]}]
- level: Metadata
`

// removeVolumes removes the folders of the volumes whose creation is in the audit log, also if it was refused.
func removeVolumes(file string) error {
	log, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer log.Close()
	paths, err := madeVolumes(log)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	if len(paths) > 0 {
		_ = os.Remove(volumeRoot) // stays while another cluster has volumes there
	}
	return nil
}

// madeVolumes reads an audit log and lists the folders that the provisioner made. A last line cut short by a crash is
// passed over.
func madeVolumes(log io.Reader) ([]string, error) {
	folder := regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	var paths []string
	for lines := bufio.NewReader(log); ; {
		line, err := lines.ReadBytes('\n')
		if bytes.Contains(line, []byte(volumeRoot)) {
			path, ok := volumeOf(line)
			if ok && filepath.Dir(path) == volumeRoot && folder.MatchString(filepath.Base(path)) {
				paths = append(paths, path)
			}
		}
		if errors.Is(err, io.EOF) {
			return paths, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// volumeOf is the path of the volume that this audit event creates, if it is the provisioner's.
func volumeOf(event []byte) (string, bool) {
	var e struct {
		Verb      string
		ObjectRef struct{ Resource string }
		User      struct{ Username string }

		RequestObject struct {
			Spec struct{ HostPath struct{ Path string } }
		}
	}
	if json.Unmarshal(event, &e) != nil {
		return "", false
	}
	made := e.Verb == "create" && e.ObjectRef.Resource == "persistentvolumes" &&
		e.User.Username == "system:serviceaccount:kube-system:persistent-volume-binder"
	return e.RequestObject.Spec.HostPath.Path, made
}
