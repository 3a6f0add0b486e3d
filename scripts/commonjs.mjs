import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { transform } from 'esbuild'

/** What stands in the built entry file until its build has a name. */
const unnamed = 'built-by-tsc'
/** How the other files begin, which src/chunk-loader.ts loads. */
const chunkStart = '((exports,require,module,__filename,importModule)=>{'
/** How esbuild lets the entry file load another one. */
const chunkPath = 'require("./chunks/'

/**
 * What stands for `performance.now` in the command: Node loads eleven modules of its own when `performance` is first used.
 * It counts from another moment; only differences are used.
 */
export const clock = {
  define: { 'performance.now': 'monotonicMs' },
  code: 'const monotonicMs=()=>{const[s,n]=process.hrtime();return s*1e3+n/1e6};',
}

/**
 * Turns the chunks that esbuild made into CommonJS: it splits code only into modules, and to load modules takes Node a third
 * of its own start longer (its loader, and the view of each built-in module that `import` needs). Node 20 keeps compiled
 * code only of scripts. `entry` is among `files`; the name of the build is put into it.
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
  // nearer than the package's own, which says that .js files are modules
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
      // modules of users, which have no name here: src/chunk-loader.ts imports them
      .replace(/\bimport\((?!")/g, 'importModule(')
      .replace(/\bfileURLToPath\d*\(import\.meta\.url\)/g, '__filename')
      .replaceAll('import.meta.url', 'require("node:url").pathToFileURL(__filename).href'),
    {
      format: 'cjs',
      platform: 'node',
      target: 'node20.19',
      minifySyntax: true,
      minifyWhitespace: true,
      // `import()` would load Node's loader of modules
      supported: { 'dynamic-import': false },
    },
  )
  if (warnings.length > 0) throw new Error(warnings.map((warning) => warning.text).join('\n'))
  const plain = withPlainExports(code)
  return inAscii(/\bmonotonicMs\b/.test(plain) ? clock.code + plain : plain)
}

/** What esbuild leaves as it is, in regular expressions and comments: src/chunk-loader.ts reads the files as Latin-1. */
function inAscii(code) {
  // oxlint-disable-next-line no-control-regex
  return code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

const exporting = /__export\(stdin_exports,\{([^{}]*)\}\);module\.exports=__toCommonJS\(stdin_exports\);/

/**
 * Exports as properties with values, set when the chunk has run, instead of one getter each that is made at the start and
 * called at each use. What is assigned again later keeps its getter. No chunk needs another one that is still running: esbuild
 * puts modules that import each other into one chunk.
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
    // `import()` of a module of Node, of which names are used only: without a copy of all of them each time
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

/** One import of each of Node's modules instead of one for each source file that was put into the chunk: 110 in a run. */
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
