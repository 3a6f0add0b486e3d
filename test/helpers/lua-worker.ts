import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'

/** Bundles the worker of isolated engines from the source, as scripts/build.mjs does, and returns its path. */
export async function buildLuaWorker(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-lua-worker-'))
  await build({
    entryPoints: { 'lua-worker': join(import.meta.dirname, '../../src/script/isolated/worker.ts') },
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    banner: {
      js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
    },
    logLevel: 'warning',
  })
  return join(folder, 'lua-worker.mjs')
}
