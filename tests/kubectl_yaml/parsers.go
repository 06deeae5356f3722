package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	goyaml "go.yaml.in/yaml/v2"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/kio"
)

// peek is the number of bytes that kubectl reads to distinguish JSON from YAML.
const peek = 4096

// readKubectl returns the documents of a stream as kubectl reads them. It returns a panic of a
// parser as an error.
func readKubectl(text []byte) (documents []any, err error) {
	defer recovered(&err)
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), peek)
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return documents, err
		}
		document, err := value(raw)
		if err != nil {
			return documents, err
		}
		// An empty document is skipped.
		if document != nil {
			documents = append(documents, document)
		}
	}
}

// errRest is the error for a text of which kubectl ignores a part.
var errRest = errors.New("kubectl reads the first document and ignores what follows it without a marker")

// wholly checks that kubectl reads all documents of a text: go-yaml reads one document from each
// part of a stream, and ignores the rest.
func wholly(text []byte) (err error) {
	defer recovered(&err)
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		part, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		decoder := goyaml.NewDecoder(bytes.NewReader(part))
		var ignored any
		if err := decoder.Decode(&ignored); errors.Is(err, io.EOF) {
			continue
		}
		if err := decoder.Decode(&ignored); !errors.Is(err, io.EOF) {
			return errRest
		}
	}
}

// readKustomize returns the documents of a stream as the parser of kustomize reads them.
func readKustomize(text []byte) (documents []any, err error) {
	defer recovered(&err)
	reader := kio.ByteReader{
		Reader:                bytes.NewReader(text),
		OmitReaderAnnotations: true,
		DisableUnwrapping:     true,
	}
	nodes, err := reader.Read()
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		raw, err := node.MarshalJSON()
		if err != nil {
			return documents, err
		}
		document, err := value(raw)
		if err != nil {
			return documents, err
		}
		documents = append(documents, document)
	}
	return documents, nil
}

// build runs kustomize with the text as its only resource.
func build(text []byte) (err error) {
	defer recovered(&err)
	files := filesys.MakeFsInMemory()
	if err := files.WriteFile("/app/kustomization.yaml", []byte("resources: [resource.yaml]\n")); err != nil {
		return err
	}
	if err := files.WriteFile("/app/resource.yaml", text); err != nil {
		return err
	}
	_, err = krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/app")
	return err
}

func value(raw []byte) (document any, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err = decoder.Decode(&document)
	return document, err
}

func recovered(err *error) {
	if fault := recover(); fault != nil {
		*err = fmt.Errorf("panic: %v", fault)
	}
}
