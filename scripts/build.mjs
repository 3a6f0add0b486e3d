// Builds dist/: lib/ is the library and bin/ the command of the package, as lazily loaded chunks (esbuild). Beside them is
// each module by itself (tsc), for tests, benchmarks and the types; it is not packed.
import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { checkCommand } from './check-command.mjs'
import { tidyChunks } from './chunks.mjs'
import { clock, toCommonJs } from './commonjs.mjs'
import { layeredChunks } from './layers.mjs'
import { buildLibrary } from './library.mjs'
import { checkLoadOrder } from './load-order.mjs'
import { leanPackages } from './lean-packages.mjs'
import { buildPage } from './page.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const require = createRequire(import.meta.url)

// built next to dist/, so that a failed build keeps the previous one
const out = join(root, 'dist.next')
rmSync(out, { recursive: true, force: true })
const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc')
const project = join(root, 'scripts/tsconfig.build.json')
const compiled = spawnSync(process.execPath, [tsc, '-p', project, '--outDir', out], { stdio: 'inherit' })
if (compiled.status !== 0) process.exit(compiled.status ?? 1)
// takes as long as all that follows, which needs it only at the end
const types = [join(root, 'scripts/types.mjs'), join(out, 'index.d.ts'), join(out, 'lib/index.d.ts')]
const typesWritten = promisify(execFile)(process.execPath, types)

const start = ['process.ts', 'cli/yargs.ts']
const runs = [...start, 'cli/commands/runs.ts', 'cli/commands/runs-show.ts', 'journal/run-index.ts']
const others = [
  ...runs,
  'base/process.ts',
  'base/toml.ts',
  'base/yaml.ts',
  'base/zip-write.ts',
  'base/zip.ts',
  'config/check-settings.ts',
  'config/json-schema.ts',
  'config/trust.ts',
  'event/event.ts',
  ...['config', 'install', 'list', 'new', 'pack', 'schema', 'trust'].map((name) => `cli/commands/${name}.ts`),
]
const run = [
  'process.ts',
  'cli/commands/run.ts',
  // of scripts and of prompts
  'base/find-text.ts',
  'script/host/require.ts',
  'tool/file-effect.ts',
  'tool/workspace-files.ts',
]
const script = [...run, 'script/host/index.ts', 'script/lua54/engine.ts']
const prompt = [
  ...run,
  'run/execute-prompt.ts',
  'run/child-run.ts',
  'agent/conversation.ts',
  'agent/models.ts',
  'prompt/render-template.ts',
  'journal/run-index.ts',
]
/**
 * Modules that are loaded together (layers.mjs): for parsing the command line, listing runs, all other commands, runs of
 * scripts, runs of prompts.
 */
const layers = [
  start,
  runs,
  [...others, ...run],
  [...others, ...script],
  [...others, ...prompt],
  [...script, ...prompt],
]
/** The same for chats and servers. */
const serving = [
  ...['chat', 'report', 'serve'].map((name) => `cli/commands/${name}.ts`),
  ...['go-back', 'next-message', 'permissions'].map((name) => `cli/chat/${name}.ts`),
  ...['html', 'markdown'].map((name) => `report/${name}.ts`),
  'config/triggers.ts',
  'serve/http/serve.ts',
  'serve/triggers/once.ts',
  'serve/workers/worker.ts',
]

/**
 * The prelude of the Lua engine and the Lua parts of host modules, compiled by the engine that was just built, plus the
 * small WebAssembly modules that it assembles.
 */
const builtFile = (path) => import(pathToFileURL(join(out, path)).href)
const { createWasmRuntime } = await builtFile('script/lua54/engine.js')
const { hostModules } = await builtFile('script/host/index.js')
const { absentModule } = await builtFile('script/lua54/absent-code.js')
const { accounting, bridgeModule, calledByBridge } = await builtFile('script/lua54/bridge-code.js')
const wasm = require.resolve('wasmoon/dist/glue.wasm')
const backend = createWasmRuntime(new WebAssembly.Module(readFileSync(wasm)))
const base64 = (bytes) => Buffer.from(bytes).toString('base64')
const moduleCode = Object.fromEntries(
  hostModules.flatMap(({ lua }) => lua ?? []).map((module) => [module.name, base64(backend.compileModule(module))]),
)
const compiledCode = {
  name: 'compiled-code',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]lua54[\\/]compiled-code\.ts$/ }, () => ({
      contents: `export const preludeCode = '${base64(backend.prelude)}'\nexport const moduleCode = ${JSON.stringify(moduleCode)}`,
    }))
    onLoad({ filter: /[\\/]lua54[\\/]absent-code\.ts$/ }, () => assembled({}, { absentModule }))
    onLoad({ filter: /[\\/]lua54[\\/]bridge-code\.ts$/ }, () =>
      assembled({ accounting, calledByBridge }, { bridgeModule }),
    )
  },
}

/**
 * A module with the same constants, and with functions that return the assembled WebAssembly instead of assembling it.
 */
function assembled(constants, modules) {
  const values = Object.entries(constants).map(([name, value]) => `export const ${name} = ${JSON.stringify(value)}`)
  const functions = Object.entries(modules).map(
    ([name, assemble]) => `export const ${name} = () => Buffer.from('${base64(assemble())}', 'base64')`,
  )
  return { contents: [...values, ...functions].join('\n') }
}

/** The modules that the entry file shares with others are duplicated in it, so that `--version` loads no other file. */
const ownConstants = {
  name: 'own-constants',
  setup({ onResolve, onLoad }) {
    const users = new Set(['main.ts', 'code-cache.ts', 'chunk-loader.ts'].map((name) => join(root, 'src', name)))
    onResolve({ filter: /\/(?:version|wasm-flag|home)\.ts$/ }, ({ importer, resolveDir, path }) =>
      users.has(importer) ? { path: resolve(resolveDir, path), namespace: 'own' } : undefined,
    )
    onLoad({ filter: /^/, namespace: 'own' }, ({ path }) => ({ contents: readFileSync(path, 'utf8'), loader: 'ts' }))
  },
}

const options = {
  absWorkingDir: root,
  outdir: join(out, 'bin'),
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  splitting: true,
  minifySyntax: true,
  minifyWhitespace: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  // large and seldom needed: loaded from the installed packages
  external: ['@cantoo/pdf-lib', 'mammoth', 'sucrase'],
  plugins: [...leanPackages(root), compiledCode, ownConstants],
  logLevel: 'warning',
  // of the layers
  logOverride: { 'ignored-bare-import': 'silent' },
}
await buildLibrary(root, join(out, 'lib'))
const command = { ...options, define: clock.define, entryPoints: { baton: join(root, 'src/main.ts') } }
const layered = await layeredChunks(command, { folder: join(root, 'src'), layers, group: serving })
const chunked = { ...command, plugins: [...command.plugins, layered] }
await checkLoadOrder(chunked, join(out, 'load-order'))
const { metafile } = await build({ ...chunked, metafile: true })
const entry = relative(root, join(out, 'bin/baton.js'))
const files = tidyChunks(metafile.outputs, { folder: root, entry })
await toCommonJs(files, join(out, 'bin/baton.js'))
await buildPage(root, join(out, 'bin/page'))
// the threads of the command are those of the library, which are ES modules
for (const thread of ['lua-worker', 'code-worker', 'task-worker']) {
  writeFileSync(join(out, `bin/${thread}.js`), `import('../lib/${thread}.js')\n`)
}
chmodSync(join(out, 'bin/baton.js'), 0o755)
checkCommand(join(out, 'bin/baton.js'))
await typesWritten
rmSync(join(root, 'dist'), { recursive: true, force: true })
renameSync(out, join(root, 'dist'))
