/** The Markdown parser, for the terminal and the page. It is loaded only where Markdown is shown. */
export { Lexer, Marked, type Token, type Tokens } from 'marked'
