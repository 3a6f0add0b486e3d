import { displayPath } from '../../base/files.ts'
import type { Place } from '../../event/effects.ts'
import { attemptAsync, passOn } from '../../journal/attempt.ts'
import { saveFile } from '../../tool/workspace-files.ts'
import { fileStatus, readBytes } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import { argumentsToJson } from '../values.ts'
import { isTable, optionsTable, pathText } from './arguments.ts'
import { destination } from './file-html.ts'
import { fileInfo } from './file-info.ts'
import { markdownText } from './html.ts'
import type { ModuleFunction, Section } from './module.ts'
import { sectionPath } from './section-path.ts'

/** The functions of `aip.file` that read Word documents (spec/aipack.md 6.2). */
export const docxFunctions: { readonly [name: string]: ModuleFunction } = {
  /**
   * `aip.file.load_docx_as_md(path) → string`
   * The text of a Word document as Markdown: headings (one level lower, the title is the first), lists, tables, links and
   * emphasis; pictures are left out. Error when the file is missing, no `.docx` file, damaged or too large.
   */
  load_docx_as_md: {
    effect: 'act',
    call: async (args, section, at) => [await observedMarkdown(args, 'aip.file.load_docx_as_md', { section, at })],
  },
  /**
   * `aip.file.save_docx_to_md(path, dest?) → FileInfo`
   * Writes the same into a file: beside the document with the extension `md`, to the path `dest`, or as
   * `{base_dir?, file_name?, suffix?}` says.
   */
  save_docx_to_md: {
    effect: 'act',
    call: async (args, section, at) => {
      const name = 'aip.file.save_docx_to_md'
      const [source, dest] = args
      const options = isTable(dest) ? optionsTable(dest, name) : {}
      const target = { ending: 'md', suffix: '' }
      const path = destination(pathText(source, name), dest, { options, target, name })
      const file = sectionPath(path, { name, what: 'the destination' }, section)
      const markdown = await observedMarkdown(args, name, { section, at: [...at, 'read'] })
      saveFile(file, markdown, { context: section.context, at })
      return [fileInfo(path, fileStatus(file, section.context))]
    },
  },
}

interface Call {
  readonly section: Section
  readonly at: Place
}

/** What is observed is the Markdown: the document need not be there for a replay. */
async function observedMarkdown(args: readonly LuaValue[], name: string, { section, at }: Call): Promise<string> {
  const { context } = section
  const path = sectionPath(args[0], { name }, section)
  const read = await attemptAsync(async () => {
    const bytes = readBytes(path, context)
    const { htmlFromDocx } = await import('../../base/docx.ts')
    return markdownText(await htmlFromDocx(bytes, displayPath(context.workspace, path)))
  })
  return context.effects.observe(at, { name, args: argumentsToJson(args) }, () => passOn(read))
}
