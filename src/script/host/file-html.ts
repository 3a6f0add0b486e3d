import { saveFile } from '../../tool/workspace-files.ts'
import { fileStatus, readText } from '../../tool/workspace-reads.ts'
import type { Place } from '../../event/effects.ts'
import type { LuaValue } from '../engine.ts'
import { argumentsToJson } from '../values.ts'
import { argumentError, flagOption, isTable, type LuaTable, optionsTable, pathText, textOption } from './arguments.ts'
import { fileInfo } from './file-info.ts'
import { markdownText, slimText } from './html.ts'
import type { ModuleFunction, Section } from './module.ts'
import { joinPath, pathParts } from './path-parts.ts'
import { sectionPath } from './section-path.ts'

/** The functions of `aip.file` that make HTML smaller or turn it into Markdown (spec/aipack.md 6.2). */
export const htmlFunctions: { readonly [name: string]: ModuleFunction } = {
  /**
   * `aip.file.load_html_as_slim(path) → string`
   * Reads an HTML file and leaves out what is not seen, as `aip.html.slim` does.
   */
  load_html_as_slim: {
    effect: 'act',
    call: async (args, section, at) => [
      await slimText(observedText(args, 'aip.file.load_html_as_slim', { section, at })),
    ],
  },
  /**
   * `aip.file.load_html_as_md(path, {slim?}?) → string`
   * Reads an HTML file as Markdown. It is slimmed first, unless `slim` (or `trim`) is false.
   */
  load_html_as_md: {
    effect: 'act',
    call: async (args, section, at) => {
      const name = 'aip.file.load_html_as_md'
      const slim = isSlim(optionsTable(args[1], name), ['trim', 'slim'], name)
      return [await markdown(observedText(args, name, { section, at }), { slim })]
    },
  },
  /**
   * `aip.file.save_html_to_slim(path, dest?) → FileInfo`
   * Saves an HTML file without what is not seen, as `<stem>-slim.html` beside it. `dest` is another path, or a table
   * with `base_dir`, `file_name` and `suffix`.
   */
  save_html_to_slim: saving('save_html_to_slim', { ending: 'html', suffix: '-slim' }, (html) => slimText(html)),
  /**
   * `aip.file.save_html_to_md(path, dest?) → FileInfo`
   * Saves an HTML file as Markdown, as `<stem>.md` beside it. `dest` is another path, or a table with `base_dir`,
   * `file_name`, `suffix` and `slim`.
   */
  save_html_to_md: saving('save_html_to_md', { ending: 'md', suffix: '' }, (html, { options, name }) =>
    markdown(html, { slim: isSlim(options, ['slim'], name) }),
  ),
}

interface Call {
  readonly section: Section
  readonly at: Place
}

/** Reading counts as an observation at its own place below the call, so that writing can have the place of the call. */
function observedText(args: readonly LuaValue[], name: string, { section, at }: Call): string {
  const { context } = section
  return context.effects.observe(at, { name, args: argumentsToJson(args) }, () =>
    readText(sectionPath(args[0], { name }, section), context),
  )
}

async function markdown(html: string, { slim }: { readonly slim: boolean }): Promise<string> {
  return markdownText(slim ? await slimText(html) : html)
}

/** Slims unless the first of the options that is given says false. */
function isSlim(options: LuaTable, keys: readonly string[], name: string): boolean {
  const key = keys.find((given) => options[given] !== undefined && options[given] !== null)
  return key === undefined || flagOption(options, key, name)
}

/** What a file is called that is made of another one. */
export interface Target {
  readonly ending: string
  /** Stands behind the stem when the caller names no file, no suffix and no folder. */
  readonly suffix: string
}

function saving(
  short: string,
  target: Target,
  convert: (html: string, call: { readonly options: LuaTable; readonly name: string }) => Promise<string>,
): ModuleFunction {
  const name = `aip.file.${short}`
  return {
    effect: 'act',
    call: async (args, section, at) => {
      const [source, dest] = args
      const options = isTable(dest) ? optionsTable(dest, name) : {}
      const path = destination(pathText(source, name), dest, { options, target, name })
      const html = observedText(args, name, { section, at: [...at, 'read'] })
      const file = sectionPath(path, { name, what: 'the destination' }, section)
      saveFile(file, await convert(html, { options, name }), { context: section.context, at })
      return [fileInfo(path, fileStatus(file, section.context))]
    },
  }
}

/** Where to save, as the caller would write it: next to the source unless `dest` says otherwise. */
export function destination(
  source: string,
  dest: LuaValue,
  { options, target, name }: { readonly options: LuaTable; readonly target: Target; readonly name: string },
): string {
  if (dest !== undefined && dest !== null && !isTable(dest)) return pathText(dest, name, 'the destination')
  const { parent, stem } = pathParts(source)
  if (stem === '') throw argumentError(name, `${source} is not the path of a file`)
  const folder = textOption(options, 'base_dir', name)
  const suffix = textOption(options, 'suffix', name) ?? (folder === undefined ? target.suffix : '')
  const file = textOption(options, 'file_name', name) ?? `${stem}${suffix}.${target.ending}`
  return joinPath(folder ?? parent ?? '', file)
}
