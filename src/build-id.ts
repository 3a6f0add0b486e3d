/** Names the content of the built command; the build puts it here (scripts/build.mjs). */
export const buildId = 'built-by-tsc'
