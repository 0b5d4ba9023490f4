// Package usage is what the commands of this repository have in common: which
// mistakes are the user's, and what a command's end is to whoever called it.
//
// What may enter: what two commands would say alike. What may not: any command.
package usage
