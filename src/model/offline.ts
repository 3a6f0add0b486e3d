import MiniSearch from 'minisearch'
import { type Message, textOf } from '../event/message.ts'
import { filesOf, type Passage, searchWords, splitFiles, splitPassages, stem, wordsOf } from './passages.ts'
import type { ModelEvent, ModelProvider } from './provider.ts'

/** Limits: quotes in all, quotes per file, and the lowest score, relative to the best one. */
const maxQuotes = 5
const maxQuotesOfFile = 3
const leastScore = 0.3

/** Longer quoted lines are truncated: minified files are not meant to be read. */
const maxLineLength = 400

/**
 * `offline::extractive`: answers without a model, by quoting the passages of the given files that match the instruction
 * best. The same request always gives the same answer. Its usage is one call with zero tokens.
 */
export function createOfflineProvider(): ModelProvider {
  return {
    name: 'offline',
    callsTools: false,
    usesTokens: false,
    async *stream({ messages }, signal): AsyncGenerator<ModelEvent> {
      signal.throwIfAborted()
      for (const text of chunks(extractiveAnswer(messages))) {
        yield { type: 'text', block: 0, text }
        signal.throwIfAborted()
      }
      yield { type: 'usage', usage: { calls: 1, input: 0, output: 0, cached: 0, reasoning: 0 } }
      yield { type: 'finish', reason: 'stop' }
    },
  }
}

/** The whole answer as Markdown: a sentence that explains it, then `path:first-last` headings with fenced quotes. */
export function extractiveAnswer(messages: readonly Message[]): string {
  const files = filesOf(messages)
  if (files.length === 0) {
    return 'No files were given as context, so there is nothing to quote: the built-in `offline::extractive` is not a model and only finds passages by full-text ranking.\n'
  }
  const asked = messages.findLast(({ role }) => role === 'user')
  const instruction = asked === undefined ? '' : splitFiles(textOf(asked)).rest
  const best = rank(files.flatMap(splitPassages), searchWords(instruction))
  const given = `${files.length} given ${files.length === 1 ? 'file' : 'files'}`
  if (best.length === 0) {
    return `No passage of the ${given} shares a word with the instruction, so nothing is quoted: the built-in \`offline::extractive\` is not a model and only finds passages by full-text ranking.\n`
  }
  const first = `These passages of the ${given} were found by full-text ranking against the instruction and are quoted as they are; they were not written, chosen or checked by a model.`
  return `${[first, ...best.map(quote)].join('\n\n')}\n`
}

function rank(passages: readonly Passage[], words: readonly string[]): Passage[] {
  const index = new MiniSearch<{ readonly id: number; readonly path: string; readonly text: string }>({
    fields: ['text', 'path'],
    tokenize: wordsOf,
    processTerm: stem,
  })
  index.addAll(passages.map(({ path, text }, id) => ({ id, path, text })))
  const found = index
    .search(words.join(' '), {
      boost: { path: 2 },
      prefix: (word) => word.length > 3,
      weights: { prefix: 0.5, fuzzy: 0 },
    })
    .map(({ id, score }) => ({ id: Number(id), score }))
    .toSorted((left, right) => right.score - left.score || left.id - right.id)
  return pick(found, passages)
}

function pick(
  found: readonly { readonly id: number; readonly score: number }[],
  passages: readonly Passage[],
): Passage[] {
  const picked: Passage[] = []
  const least = (found[0]?.score ?? 0) * leastScore
  for (const { id, score } of found) {
    const passage = passages[id]
    if (passage === undefined || score < least || picked.length === maxQuotes) break
    if (picked.filter(({ path }) => path === passage.path).length < maxQuotesOfFile) picked.push(passage)
  }
  return picked
}

function quote({ path, first, last, text }: Passage): string {
  const runs = text.match(/`{3,}/g) ?? []
  const fence = '`'.repeat(runs.reduce((length, run) => Math.max(length, run.length + 1), 3))
  const language = /\.([\w-]+)$/.exec(path)?.[1] ?? ''
  const lines = text
    .split('\n')
    .map((line) => (line.length > maxLineLength ? `${line.slice(0, maxLineLength)} […]` : line))
  return `### ${path}:${first}-${last}\n\n${fence}${language}\n${lines.join('\n')}\n${fence}`
}

/** Chunks of a few lines, so that the answer is shown like a streamed one. */
function chunks(answer: string): readonly string[] {
  return answer.match(/(?:[^\n]*\n){1,8}|[^\n]+$/g) ?? []
}
