// Makes dist/: the library file by file (tsc), and the command as lazily loaded chunks (esbuild; spec/parts.md 7).
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const require = createRequire(import.meta.url)

rmSync(join(root, 'dist'), { recursive: true, force: true })
const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc')
const compiled = spawnSync(process.execPath, [tsc, '-p', join(root, 'scripts/tsconfig.build.json')], {
  stdio: 'inherit',
})
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
  outdir: join(root, 'dist/bin'),
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
copyFileSync(require.resolve('wasmoon/dist/glue.wasm'), join(root, 'dist/bin/glue.wasm'))
chmodSync(join(root, 'dist/bin/baton.js'), 0o755)
