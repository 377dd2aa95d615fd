// What a consumer writes with the client that openapi-generator generates for Go: it reads all
// pages, reads one document, downloads, and gets errors.
//
// Run by a test with the address of a server and two keys; the plan of the second key's workspace
// lacks the API. It prints what it found as JSON.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"

	readapi "github.com/GIT_USER_ID/GIT_REPO_ID" // the name that the generator gives to the module
)

const noDocument = "00000000-0000-0000-0000-000000000000"

// check ends the program if a call has failed.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// result returns what a request returned, which must have succeeded.
func result[T any](value T, _ *http.Response, err error) T {
	check(err)
	return value
}

// refused returns the status, code and body of an error; the request must have failed.
func refused[T any](_ T, response *http.Response, err error) []any {
	var failure *readapi.GenericOpenAPIError
	if !errors.As(err, &failure) {
		panic(err)
	}
	return []any{response.StatusCode, response.Header.Get("Error-Code"), failure.Model()}
}

// withKey returns a context in which the client sends the key.
func withKey(key string) context.Context {
	return context.WithValue(context.Background(), readapi.ContextAccessToken, key)
}

// readAll returns every document, page by page.
func readAll(request readapi.ApiListDocumentsRequest) (found []readapi.WorkspaceDocument) {
	for {
		page := result(request.Execute())
		found = append(found, page.Data...)
		if page.NextCursor.Get() == nil {
			return found
		}
		request = request.Cursor(*page.NextCursor.Get())
	}
}

func ids(documents []readapi.WorkspaceDocument) (found []string) {
	for _, document := range documents {
		found = append(found, document.Id)
	}
	return found
}

// waiting returns, for each document, who still has to sign, and since when they have known of it.
func waiting(documents []readapi.WorkspaceDocument) map[string][][]any {
	found := map[string][][]any{}
	for _, document := range documents {
		found[document.Id] = [][]any{}
		for _, person := range document.Recipients {
			if person.Role == readapi.RECIPIENT_ROLE_SIGNER && person.Status != readapi.RECIPIENT_STATUS_SIGNED {
				found[document.Id] = append(found[document.Id], []any{person.Email, person.SentAt})
			}
		}
	}
	return found
}

// content returns the bytes of a download, which the client writes to a temporary file.
func content(file *os.File) []byte {
	defer os.Remove(file.Name())
	bytes, err := io.ReadAll(file)
	check(err)
	return bytes
}

func main() {
	configuration := readapi.NewConfiguration()
	configuration.Servers = readapi.ServerConfigurations{{URL: os.Args[1]}}
	client := readapi.NewAPIClient(configuration)
	documents, workspace := client.DocumentsAPI, client.WorkspaceAPI
	ctx := withKey(os.Args[2])

	me := result(workspace.GetMe(ctx).Execute())
	all := readAll(documents.ListDocuments(ctx).Limit(3))
	complete := ids(readAll(documents.ListDocuments(ctx).Limit(1).Status("COMPLETED")))
	read := result(documents.GetDocument(ctx, complete[0]).Execute())
	file := result(documents.DownloadDocument(ctx, complete[0]).Type_("signed").Execute())
	part := result(documents.DownloadDocument(ctx, complete[0]).Range_("bytes=0-4").Execute())
	events := result(client.EventsAPI.ListEvents(ctx).Type_("document.completed").Execute())
	later := result(client.EventsAPI.ListEvents(ctx).After(events.NextCursor).Type_("document.completed").Execute())
	digest := sha256.Sum256(content(file))

	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"me":       me,
		"ids":      ids(all),
		"complete": complete,
		"waiting":  waiting(all),
		"read":     read,
		"sha256":   hex.EncodeToString(digest[:]),
		"part":     string(content(part)),
		"events":   []any{events.Data, later.Data},
		"none":     refused(documents.GetDocument(ctx, noDocument).Execute()),
		"stranger": refused(workspace.GetMe(withKey("dtd_x")).Execute()),
		"unpaid":   refused(workspace.GetMe(withKey(os.Args[3])).Execute()),
	}))
}
