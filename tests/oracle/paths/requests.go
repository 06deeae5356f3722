package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// An application that records the target of each request.
type application struct {
	listener net.Listener
	client   *http.Client
	targets  chan string
}

func listen() (*application, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	a := &application{listener, &http.Client{Transport: transport}, make(chan string, 1)}
	go a.serve()
	return a, nil
}

// Answers each connection, and keeps the target of its request as it was sent.
func (a *application) serve() {
	for {
		connection, err := a.listener.Accept()
		if err != nil {
			return
		}
		reader := bufio.NewReader(connection)
		first, _ := reader.ReadString('\n')
		for header := first; header != "\r\n" && header != ""; {
			header, _ = reader.ReadString('\n')
		}
		fmt.Fprint(connection, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		connection.Close()
		target := strings.TrimSuffix(strings.TrimPrefix(first, "GET "), " HTTP/1.1\r\n")
		a.targets <- target
	}
}

// Sends the request that the kubelet sends: formatURL and newProbeRequest of Kubernetes (pkg/probe/http/request.go).
func (a *application) kubelet(path string) *string {
	u, err := url.Parse(path)
	if err != nil {
		u = &url.URL{Path: path}
	}
	u.Scheme = "HTTP"
	u.Host = a.listener.Addr().String()
	return a.send(u.String())
}

// Sends the request that the agent sends: handleAppProbeHTTPGet of Istio (pilot/cmd/pilot-agent/status/server.go).
func (a *application) agent(path string) *string {
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return a.send(fmt.Sprintf("http://%s%s", a.listener.Addr(), path))
}

// Sends a request, and returns its target as it was received; nil if the client does not send it.
func (a *application) send(url string) *string {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return nil
	}
	response, err := a.client.Do(request)
	if err != nil {
		return nil
	}
	response.Body.Close()
	target := <-a.targets
	return &target
}
