// Serves the in-memory Pub/Sub that Google's client for Go is tested with.
package main

import (
	"flag"
	"log"

	"cloud.google.com/go/pubsub/v2/pstest"
)

func main() {
	port := flag.Int("port", 0, "where it listens, on this machine only")
	flag.Parse()
	log.Println("listening on", pstest.NewServerWithPort(*port).Addr)
	select {}
}
