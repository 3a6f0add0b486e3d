/**
 * The prelude as `compilePrelude` gives it, base64. Empty here: it is compiled when it is needed. The build puts it in, made
 * by the same Lua (scripts/build.mjs), because to compile it takes a script of one line longer than to run.
 */
export const preludeCode: string = ''
