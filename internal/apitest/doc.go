// Package apitest is a small in-memory API server for tests, over real HTTP: objects of registered kinds with
// discovery, versions, selectors, finalizers, patches, dry runs, watches, access reviews, and logs and proxies of
// pods. It runs no controllers: tests act as them. It does not validate objects, and only tests may use it.
package apitest
