import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { figure, interleave, quotients } from './rounds.mjs'

/**
 * The cost of extracting the changes from an answer and applying them to a file of 50,000 lines, including the full
 * check, the copy for undo and all records; against reading the file with plain Node, splitting it into lines, joining
 * and writing it.
 */
export async function changes({ library, folder, small }) {
  const { readFileChanges } = await import(`${library}/tool/changes/answer-changes.js`)
  const { applyTransaction } = await import(`${library}/tool/changes/transaction.js`)
  const { createPermission } = await import(`${library}/tool/permission.js`)
  const { allRights } = await import(`${library}/event/permission.js`)
  const { createEffects } = await import(`${library}/journal/effects.js`)
  const { openRun } = await import(`${library}/journal/store.js`)
  const { noMask } = await import(`${library}/journal/secrets.js`)
  const { sha256 } = await import(`${library}/base/hash.js`)
  const { createSources } = await import(`${library}/event/sources.js`)

  const lines = Array.from({ length: small ? 500 : 50_000 }, (_, index) => lineOf(index))
  const before = `${lines.join('\n')}\n`
  const file = join(folder, 'large.ts')
  const places = Array.from({ length: 20 }, (_, number) => Math.floor((lines.length / 20) * (number + 0.5)))
  const expected = lines.map((line, index) => (places.includes(index) ? line.replace('value', 'changed') : line))
  const after = `${expected.join('\n')}\n`
  const signal = new AbortController().signal

  let runs = 0

  async function createContext() {
    const journal = await openRun({ folder: join(folder, `run-${(runs += 1)}`), now: () => new Date(), mask: noMask })
    const folders = { workspace: folder, cwd: folder, packRoots: [] }
    const permission = createPermission(allRights, folders)
    const context = {
      scope: { at: [], folders, rights: allRights },
      services: {
        effects: createEffects({ journal, signal, permission }),
        permission,
        signal,
        events: () => undefined,
        files: () => undefined,
        sources: createSources([]),
      },
    }
    return { context, close: () => journal.close() }
  }

  function apply(answer, mode) {
    return async () => {
      writeFileSync(file, before)
      const shown = new Map([[file, sha256(before)]])
      const { context, close } = await createContext()
      const started = performance.now()
      const { directives } = readFileChanges(answer, mode)
      const result = await applyTransaction(
        directives,
        { baseDir: folder, partial: false, shown },
        { context, at: ['apply'] },
      )
      const time = performance.now() - started
      await close()
      if (result.kind !== 'applied' || readFileSync(file, 'utf8') !== after) {
        throw new Error(`the ${mode} changes were not applied: ${JSON.stringify(result).slice(0, 300)}`)
      }
      return time
    }
  }

  async function plain() {
    writeFileSync(file, before)
    const started = performance.now()
    writeFileSync(file, readFileSync(file, 'utf8').split('\n').join('\n'))
    return performance.now() - started
  }

  const times = await interleave(
    {
      exact: apply(udiffx(places.map((place) => hunk(lines, expected, place))), 'udiffx'),
      loose: apply(udiffx(places.map((place) => hunk(lines, expected, place).replaceAll(/^(.) +/gm, '$1'))), 'udiffx'),
      parts: apply(block(places.map((place) => part(lines, expected, place)).join('')), 'search_replace_auto'),
      whole: apply(block(after), 'whole'),
      plain,
    },
    small ? 1 : 15,
  )
  const of = 'read, split, join, write'
  return [
    figure('20 hunks', { of, ratios: quotients(times.exact, times.plain) }),
    figure('20 hunks with wrong indentation', { of, ratios: quotients(times.loose, times.plain) }),
    figure('20 search and replace parts', { of, ratios: quotients(times.parts, times.plain) }),
    figure('the whole file', { of, ratios: quotients(times.whole, times.plain) }),
  ]
}

function lineOf(index) {
  return `${' '.repeat((index % 4) * 2)}const name${index} = value(${index * 7}, 'text ${index % 100}')`
}

function hunk(lines, expected, place) {
  return `@@\n ${lines[place - 1]}\n-${lines[place]}\n+${expected[place]}\n ${lines[place + 1]}\n`
}

function udiffx(hunks) {
  return `<FILE_CHANGES>\n<FILE_PATCH file_path="large.ts">\n${hunks.join('')}</FILE_PATCH>\n</FILE_CHANGES>\n`
}

function part(lines, expected, place) {
  return `<<<<<<< SEARCH\n${lines[place]}\n=======\n${expected[place]}\n>>>>>>> REPLACE\n`
}

function block(content) {
  return `<AIP_FILE_CHANGE file_path="large.ts">\n\`\`\`\`ts\n${content}\`\`\`\`\n</AIP_FILE_CHANGE>\n`
}
