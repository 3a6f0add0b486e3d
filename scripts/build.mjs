// Makes dist/: the library file by file (tsc), and the command as lazily loaded chunks (esbuild; spec/parts.md 7).
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const require = createRequire(import.meta.url)

// made beside, so that a build that fails leaves the last one
const out = join(root, 'dist.next')
rmSync(out, { recursive: true, force: true })
const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc')
const project = join(root, 'scripts/tsconfig.build.json')
const compiled = spawnSync(process.execPath, [tsc, '-p', project, '--outDir', out], { stdio: 'inherit' })
if (compiled.status !== 0) process.exit(compiled.status ?? 1)

/** zod brings its messages in some fifty languages, half of its code. Ours are in English, its default. */
const englishZod = {
  name: 'english-zod',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js'",
    }))
  },
}

await build({
  entryPoints: { baton: join(root, 'src/main.ts'), 'lua-worker': join(root, 'src/script/isolated/worker.ts') },
  outdir: join(out, 'bin'),
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  splitting: true,
  minifySyntax: true,
  minifyWhitespace: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  // packages that are CommonJS inside call require for node's own modules
  banner: {
    js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
  },
  plugins: [englishZod],
  logLevel: 'warning',
})
copyFileSync(require.resolve('wasmoon/dist/glue.wasm'), join(out, 'bin/glue.wasm'))
chmodSync(join(out, 'bin/baton.js'), 0o755)
rmSync(join(root, 'dist'), { recursive: true, force: true })
renameSync(out, join(root, 'dist'))
