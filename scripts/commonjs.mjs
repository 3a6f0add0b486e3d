import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { transform } from 'esbuild'

/** Placeholder in the built entry file until the name of the build is known. */
const unnamed = 'built-by-tsc'
/**
 * The start of the other files, which src/chunk-loader.ts loads. V8 compiles such a function while it reads the file; an
 * arrow function it would skip first and read again when it is called.
 */
const chunkStart = '(function(exports,require,module,__filename,importModule){'
/** The expression with which esbuild's entry file loads another file. */
const chunkPath = 'require("./chunks/'

/**
 * Replaces `performance.now` in the command: Node loads eleven built-in modules when `performance` is first used. It
 * has a different time origin, but only differences are used.
 */
export const clock = {
  define: { 'performance.now': 'monotonicMs' },
  code: 'const monotonicMs=()=>{const[s,n]=process.hrtime();return s*1e3+n/1e6};',
}

/**
 * Converts esbuild's chunks to CommonJS: esbuild splits code only into ES modules, and loading those adds a third to
 * Node's own startup time (for the loader, and for the namespace object of each built-in module). Node 20 caches
 * compiled code only for scripts. `entry` is one of `files`; the name of the build is inserted into it.
 */
export async function toCommonJs(files, entry) {
  const texts = await Promise.all(files.map(async (file) => [file, await converted(readFileSync(file, 'utf8'))]))
  const hash = createHash('sha256')
  for (const [, text] of texts) hash.update(text)
  const build = hash.digest('hex').slice(0, 16)
  for (const [file, text] of texts) {
    writeFileSync(file, file === entry ? entryText(text, build) : `${chunkStart}${text}\n})`)
  }
  writeFileSync(join(dirname(entry), 'import-module.js'), 'exports.load=(address)=>import(address)\n')
  // takes precedence over the package.json of the package, which declares .js files as ES modules
  writeFileSync(join(dirname(entry), 'package.json'), '{"type":"commonjs"}\n')
}

/** The entry file loads the others with its own `loadChunk` (src/main.ts). */
function entryText(text, build) {
  for (const place of [unnamed, chunkPath]) if (!text.includes(place)) throw new Error(`the entry file has no ${place}`)
  return text.replace(unnamed, build).replaceAll(chunkPath, 'loadChunk("./chunks/')
}

async function converted(text) {
  const { code, warnings } = await transform(
    joinImports(text)
      // dynamic specifiers, for modules of users: src/chunk-loader.ts imports them
      .replace(/\bimport\((?!")/g, 'importModule(')
      .replace(/\bfileURLToPath\d*\(import\.meta\.url\)/g, '__filename')
      .replaceAll('import.meta.url', 'require("node:url").pathToFileURL(__filename).href'),
    {
      format: 'cjs',
      platform: 'node',
      target: 'node20.19',
      minifySyntax: true,
      minifyWhitespace: true,
      // `import()` would load Node's ES module loader
      supported: { 'dynamic-import': false },
    },
  )
  if (warnings.length > 0) throw new Error(warnings.map((warning) => warning.text).join('\n'))
  const plain = await withShortNames(withPlainExports(code))
  return inAscii(/\bmonotonicMs\b/.test(plain) ? clock.code + plain : plain)
}

/** Shortens names within functions. Those of the module itself stay: stacks of errors show them. */
async function withShortNames(code) {
  const short = await transform(code, { minifyIdentifiers: true, minifyWhitespace: true, target: 'node20.19' })
  return short.code.trimEnd()
}

/**
 * Escapes the non-ASCII characters that esbuild leaves in regular expressions and comments, because src/chunk-loader.ts
 * reads the files as Latin-1.
 */
function inAscii(code) {
  // oxlint-disable-next-line no-control-regex
  return code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

const exporting = /__export\(stdin_exports,\{([^{}]*)\}\);module\.exports=__toCommonJS\(stdin_exports\);/

/**
 * Exports as plain properties, set when the chunk has run, instead of a getter for each, which is defined at the start
 * and called on every access. A variable that is reassigned later keeps its getter. No chunk needs another one that is
 * still running: esbuild puts modules that import each other into one chunk.
 */
function withPlainExports(code) {
  const [, list] = exporting.exec(code) ?? []
  if (list === undefined) return code
  const properties = [...list.matchAll(/("?[\w$]+"?):\(\)=>([\w$]+)/g)].map(([, name, local]) =>
    isAssignedOnce(code, local) ? `${name}:${local}` : `get ${name}(){return ${local}}`,
  )
  const body = code
    .replace(exporting, '')
    .replace(/0&&\(module\.exports=\{[^{}]*\}\);?\s*$/, '')
    .replace(/__toESM\((require\("\.\/[^"]+\.js"\))\)/g, '$1')
    // `import()` of a built-in module of which only names are used: avoids copying all of its names each time
    .replace(/(?<=\.then\(\(\)=>)__toESM\((require\("node:[^"]+"\))\)/g, '$1')
  return `${body.trimEnd()}\nmodule.exports={${properties.join(',')}};\n`
}

function isAssignedOnce(code, local) {
  const name = local.replaceAll('$', '\\$')
  const assignments =
    code.match(
      new RegExp(`(?<![\\w$.])${name}(?:(?:[-+*/%&|^]|\\*\\*|<<|>>>?|&&|\\|\\||\\?\\?)?=(?![=>])|\\+\\+|--)`, 'g'),
    ) ?? []
  const isDeclared = new RegExp(`(?:function[* ]|class )${name}(?![\\w$])`).test(code)
  const isInitialized = new RegExp(`(?:(?:var|let|const) |,)${name}=`).test(code)
  return isDeclared ? assignments.length === 0 : assignments.length === 1 && isInitialized
}

/** One import for each built-in module instead of one for each source file that is in the chunk: 110 in a run. */
function joinImports(text) {
  const names = new Map()
  const rest = text.replace(/(?<=^|[;}\n])import\{([^{}]+)\}from"(node:[^"]+)";/g, (_, list, from) => {
    names.set(from, [...(names.get(from) ?? []), list])
    return ''
  })
  const joined = [...names].map(([from, lists]) => `import{${lists.join(',')}}from"${from}";`).join('')
  const [, firstLine, others] = /^(#!.*\n)?([^]*)$/.exec(rest)
  return `${firstLine ?? ''}${joined}${others}`
}
