import { WorkerLimitError, type WorkerTask, runInWorker } from '../../base/worker-task.ts'
import type { TextThread } from '../../tool/changes/text-thread.ts'
import { limitMessage, LuaError, type LuaLimits, type LuaValue } from '../engine.ts'
import type { SectionClock } from '../section-clock.ts'
import { HostCall, isLarge } from './call.ts'
import { readToml, readYaml, type TextSource } from './data.ts'
import { markdownText, mostHtml, slimText } from './html.ts'
import type { HostModule, Section } from './module.ts'

/** The limits and counters of the computing that host functions do for a section. */
export interface Computing {
  readonly limits: LuaLimits
  readonly clock: SectionClock
  /** Bytes of printed and pinned text, which is held in memory. */
  shownBytes: number
}

/**
 * Calls a `pure` function in a worker thread. Its time counts toward the script's limit.
 * @throws the function's own error, or LuaError when a limit of the script is exceeded
 */
export function callInWorker(name: string, args: readonly LuaValue[], section: Section): Promise<readonly LuaValue[]> {
  return inThread({ name: 'host.call', args: [name, args] }, section) as Promise<readonly LuaValue[]>
}

/** Calls a pure function in the worker thread, where it has no access to the calling section. */
export function callPure(
  modules: readonly HostModule[],
): (name: string, args: readonly LuaValue[]) => Promise<readonly LuaValue[]> {
  return async (name, args) => {
    for (const { name: prefix, functions } of modules) {
      if (!name.startsWith(`${prefix}.`)) continue
      const definition = functions[name.slice(prefix.length + 1)]
      if (definition?.effect === 'pure') return definition.call(new HostCall(name, args, {} as Section))
    }
    throw new Error(`there is no pure function ${name}`)
  }
}

/** Conversions of files, which can take as long as the functions on text. */
const conversions = {
  slim: slimText,
  markdown: markdownText,
  markdownOfSlim: async (html: string) => markdownText(await slimText(html)),
  markdownOfDocx: async (bytes: Uint8Array, name: string) => {
    const { htmlFromDocx } = await import('../../base/docx.ts')
    return markdownText(await htmlFromDocx(bytes, name), 'document')
  },
  pdf: async (
    bytes: Uint8Array,
    name: string,
    { first, count }: { readonly first: number; readonly count: number },
  ) => {
    const [{ openPdf }, { withUnpackLimit }] = await Promise.all([
      import('../../base/pdf.ts'),
      import('../../base/unpack-limit.ts'),
    ])
    return withUnpackLimit({ name }, async () => {
      const { pageCount, page } = await openPdf(bytes, name)
      const pages: Uint8Array[] = []
      for (let index = first; index < Math.min(first + count, pageCount); index += 1) pages.push(await page(index))
      return { pageCount, pages }
    })
  },
  yaml: (source: TextSource) => readYaml(source),
  toml: (source: TextSource) => readToml(source),
} as const

type Conversions = typeof conversions
type Conversion = keyof Conversions

/** Runs in the worker thread. */
export function convert(kind: Conversion, ...args: readonly unknown[]): unknown {
  return (conversions[kind] as (...given: readonly unknown[]) => unknown)(...args)
}

/**
 * Converts file content; large input in a worker thread, and always a Word or PDF document, whose unpacked size is
 * unknown.
 */
export async function converted<K extends Conversion>(
  kind: K,
  args: Parameters<Conversions[K]>,
  section: Section,
): Promise<Awaited<ReturnType<Conversions[K]>>> {
  const most =
    kind === 'markdownOfDocx' || kind === 'pdf' ? 0 : kind === 'yaml' || kind === 'toml' ? undefined : mostHtml
  const result = isLarge(args, most)
    ? inThread({ name: 'host.convert', args: [kind, ...args] }, section)
    : convert(kind, ...args)
  return (await result) as Awaited<ReturnType<Conversions[K]>>
}

/** A worker thread for text work of a section, under the limits of the script. */
export async function textThread(section: Section): Promise<TextThread> {
  const { createTextThread } = await import('../../tool/changes/text-thread.ts')
  return createTextThread(section.context.services.signal, (task) => inThread(task, section))
}

/** The limits of a run without settings, for when none are set. */
const defaults: LuaLimits = { timeMs: 60_000, instructions: 1e12, memoryBytes: 256 * 2 ** 20 }

async function inThread(task: WorkerTask, { computing, context }: Section): Promise<unknown> {
  const { limits = defaults, clock } = computing ?? {}
  const run = runInWorker(task, {
    timeMs: clock?.leftMs() ?? limits.timeMs,
    memoryMb: Math.ceil(limits.memoryBytes / 2 ** 20),
    signal: context.services.signal,
  })
  try {
    return await (clock?.inThread(run) ?? run)
  } catch (error) {
    if (!(error instanceof WorkerLimitError)) throw error
    throw new LuaError(limitMessage(error.limit, limits), { limit: error.limit })
  }
}
