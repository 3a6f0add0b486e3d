/**
 * The prelude and the Lua parts of the host modules (by name) in the engine's compiled form, base64. Empty here: they
 * are compiled when they are needed. The build fills them in, using the same Lua (scripts/build.mjs), because compiling
 * them takes longer than running a one-line script.
 */
export const preludeCode: string = ''
export const moduleCode: Readonly<Record<string, string>> = {}
