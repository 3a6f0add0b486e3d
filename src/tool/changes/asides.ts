import type { AnswerLines } from './answer-lines.ts'
import { failDirective } from './directive.ts'
import { faultPiece, type Piece, textPiece } from './pieces.ts'
import { isContainer, isDirective } from './tag.ts'

/** Names of reasoning tags that servers fail to strip from answers, and that models are often told to write. */
const reasoningNames = 'think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis|seed:think'
const reasoningStart = new RegExp(`^\\s*(?:<(${reasoningNames})>|\\[(THINK)\\]|◁(think)▷)`, 'i')
const reasoningEnd = new RegExp(`^\\s*(?:</(?:${reasoningNames})>|\\[/THINK\\]|◁/think▷)`, 'i')
const commentStart = /^<!--/
/** Files as prompt files and packs show them to a model. */
const quotedFile =
  /^<(file|FILE_CONTENT|CONTEXT_FILE|KNOWLEDGE_FILE)\s+(?:file_)?path="[^"]*"(?: lines="(\d+)")?(?: ends_with="(\/file \w+)")?[^>]*>/
const markedEnd = /^<\/file \w+>/

/**
 * Skips text that is not part of the answer proper, starting at the line: reasoning, a comment, a file quoted as it was
 * shown. Nothing in it is a change. Returns false if the line does not start such text.
 */
export function readAside(lines: AnswerLines, written: Piece[]): boolean {
  const { line } = lines
  if (!/^\s*[<[◁]/.test(line)) return false
  const [opening] = reasoningStart.exec(line) ?? []
  if (opening !== undefined) return readReasoning(lines, written, opening.trim())
  if (reasoningEnd.test(line)) {
    // some servers omit the opening tag of the reasoning
    const before = written.splice(0).reduce((text, piece) => text + piece.text, '')
    written.push({ ...textPiece(before), isAside: true })
    return pass(lines, written, lines.at)
  }
  if (commentStart.test(line)) return pass(lines, written, lines.next('end of a comment', lines.at, has(lines, '-->')))
  const [, name = '', count, ending] = quotedFile.exec(line) ?? []
  if (name === '') return false
  const counted = lines.at + 1 + Number(count ?? 0)
  if (ending !== undefined) return readMarked(lines, written, { ending, counted })
  const end = `</${name}>`
  return pass(
    lines,
    written,
    lines.next(`end of ${name}`, counted, (index) => lines.all[index]?.startsWith(end) === true),
  )
}

/** A quoted file with a custom end marker, because its text contains the usual one. */
function readMarked(
  lines: AnswerLines,
  written: Piece[],
  { ending, counted }: { readonly ending: string; readonly counted: number },
): boolean {
  const end = lines.next('own end of a file', counted, (index) => markedEnd.test(lines.all[index] ?? ''))
  return pass(lines, written, lines.all[end ?? -1]?.startsWith(`<${ending}>`) === true ? end : undefined)
}

function has({ all }: AnswerLines, end: string): (index: number) => boolean {
  return (index) => all[index]?.includes(end) === true
}

function readReasoning(lines: AnswerLines, written: Piece[], opening: string): boolean {
  const closing = opening.replace(/^./u, '$&/')
  const looked = closing.toLowerCase()
  const end = lines.next(`end of ${looked}`, lines.at, (index) => {
    return lines.all[index]?.toLowerCase().includes(looked) === true
  })
  if (end !== undefined) return pass(lines, written, end)
  const change = lines.next('change in open reasoning', lines.at, (index) => {
    const tag = lines.tagAt(index)
    if (tag === undefined || tag.form === 'close') return false
    return isContainer(tag.name) || isDirective(tag.name) || tag.name === 'AIP_FILE_CHANGE'
  })
  pass(lines, written, lines.all.length - 1)
  const reason = `${opening} is never closed, and the changes after it count as reasoning: write them after ${closing}`
  if (change !== undefined) written.push(faultPiece(failDirective('malformed', reason)))
  return true
}

/** Continues after line `end`. */
function pass(lines: AnswerLines, written: Piece[], end: number | undefined): boolean {
  if (end === undefined) return false
  for (const text of lines.all.slice(lines.at, end + 1)) written.push({ ...textPiece(text), isAside: true })
  lines.goTo(end + 1)
  return true
}
