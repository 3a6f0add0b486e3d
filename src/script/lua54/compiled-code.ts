/**
 * The prelude and the Lua parts of the host modules (by their name) as the engine compiles them, base64. Empty here: they are
 * compiled when they are needed. The build puts them in, made by the same Lua (scripts/build.mjs), because to compile them
 * takes a script of one line longer than to run.
 */
export const preludeCode: string = ''
export const moduleCode: Readonly<Record<string, string>> = {}
