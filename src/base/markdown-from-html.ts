import Turndown from 'turndown'
import { parseHtml } from './html.ts'

/** The part of the DOM that is used here. */
interface PageNode {
  readonly nodeName: string
  readonly parentNode: PageNode | null
  readonly previousElementSibling: PageNode | null
  readonly nextSibling: PageNode | null
  readonly children: ArrayLike<PageNode>
  getAttribute(name: string): string | null
}

/**
 * HTML as Markdown: CommonMark with `-`, `*` and `#`, fenced code, and GitHub tables, without title, scripts and styles.
 * Load this file at its first use.
 * @throws BatonError SCRIPT_FAILED when elements are nested deeper than 512 levels
 */
export function markdownFromHtml(html: string): string {
  // only to check the depth: with very deep pages the parser used below takes minutes
  parseHtml(html)
  const style = { headingStyle: 'atx', hr: '---', bulletListMarker: '-', emDelimiter: '*' } as const
  return new Turndown({ ...style, codeBlockStyle: 'fenced' })
    .remove(['script', 'style', 'title', 'noscript', 'template'])
    .addRule('item', { filter: 'li', replacement: item })
    .addRule('cell', { filter: ['th', 'td'], replacement: cell })
    .addRule('row', { filter: 'tr', replacement: row })
    .addRule('rows', { filter: ['thead', 'tbody', 'tfoot'], replacement: (content) => content })
    .addRule('table', { filter: 'table', replacement: (content) => `\n\n${content.trim()}\n\n` })
    .turndown(html)
}

/** One space after the mark; further lines are indented to the text of the first. */
function item(content: string, node: PageNode): string {
  const mark = markOf(node)
  const text = content
    .replace(/^\n+/, '')
    .trimEnd()
    .replaceAll(/\n(?=[^\n])/g, `\n${' '.repeat(mark.length)}`)
  return `${mark}${text}${node.nextSibling === null ? '' : '\n'}`
}

function markOf({ parentNode: list, previousElementSibling: previous }: PageNode): string {
  if (list?.nodeName !== 'OL') return '- '
  const start = Number.parseInt(list.getAttribute('start') ?? '1', 10)
  return `${(Number.isNaN(start) ? 1 : start) + countBefore(previous)}. `
}

function countBefore(node: PageNode | null): number {
  let count = 0
  for (let sibling = node; sibling !== null; sibling = sibling.previousElementSibling) count += 1
  return count
}

function cell(content: string): string {
  const line = content.trim().replaceAll(/\s*\n\s*/g, ' ')
  return ` ${line.replaceAll('|', String.raw`\|`)} |`
}

/** A table in Markdown needs a heading: the first row, whatever its cells are. */
function row(content: string, node: PageNode): string {
  const line = `|${content}\n`
  return isFirstRow(node) ? `${line}|${' --- |'.repeat(node.children.length)}\n` : line
}

function isFirstRow({ previousElementSibling: previous, parentNode: part }: PageNode): boolean {
  if (previous !== null && previous.nodeName === 'TR') return false
  if (part === null || part.nodeName === 'TABLE') return true
  const before = part.previousElementSibling
  return before === null || !['THEAD', 'TBODY', 'TFOOT'].includes(before.nodeName)
}
