// Package docs holds the documents against the code: numbers that tests name,
// the form of the plugins' READMEs and their examples, links, error codes,
// environment variables.
//
// What may enter: what a document claims and a program can find out. What may
// not: how something is worded.
package docs
