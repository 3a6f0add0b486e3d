import { readFileSync } from 'node:fs'
import { figure } from './rounds.mjs'

/** A longer pause is noticeable. */
const pauseMs = 20

/** Returns a function that calls a tool as a model does, under the default rules, recorded on disk. */
export async function createTools(library, { folder, run, sandbox }) {
  const { rootScope } = await import(`${library}/event/context.js`)
  const { allRights } = await import(`${library}/event/permission.js`)
  const { createSources } = await import(`${library}/event/sources.js`)
  const { createEffects } = await import(`${library}/journal/effects.js`)
  const { openTextStore } = await import(`${library}/journal/text-store.js`)
  const { openRun } = await import(`${library}/journal/store.js`)
  const { createPermission } = await import(`${library}/tool/permission.js`)
  const { toolRules } = await import(`${library}/tool/rule-list.js`)
  const { createToolbox, openTools } = await import(`${library}/tool/toolbox/toolbox.js`)
  const rights = {
    ...allRights,
    rules: [[...toolRules(), { tool: 'bash', effect: 'allow', origin: 'bench' }]],
    sandbox,
  }
  const folders = { workspace: folder, cwd: folder, packRoots: [] }
  const permissionOf = (given) => createPermission(given, folders)
  const permission = permissionOf(rights)
  const signal = new AbortController().signal
  const journal = await openRun({ folder: run, now: () => new Date() })
  const effects = createEffects({ journal, permission, signal, onSpent: () => undefined })
  const opened = await openTools(['grep', 'read', 'edit', 'write', 'bash'], createToolbox({ baseDir: folder }))
  const tools = Object.fromEntries(opened.map((tool) => [tool.name, tool]))
  let calls = 0
  const texts = openTextStore(journal)
  const events = () => undefined
  return (name, input, env = {}) => {
    const at = [{ kind: 'tool', index: calls++, name }]
    const services = { effects, permission, permissionOf, signal, env, sources: createSources([]), texts, events }
    const scope = rootScope({ runId: 'bench', version: '0', folders, rights, at })
    return tools[name].run(typeof input === 'string' ? input : JSON.stringify(input), { scope, services })
  }
}

/**
 * Watches the turns of the event loop. The returned function stops this, and returns the longest turn in milliseconds:
 * in CPU time of this thread where the system reports it, so that other processes do not count.
 */
export function watchTurns() {
  const now = process.platform === 'linux' ? threadTime : () => performance.now()
  let longest = 0
  let before = now()
  let next = setImmediate(turn)
  function turn() {
    const time = now()
    longest = Math.max(longest, time - before)
    before = time
    next = setImmediate(turn)
  }
  return async () => {
    // the turn in progress counts too
    await new Promise((ended) => setImmediate(() => setImmediate(ended)))
    clearImmediate(next)
    return longest
  }
}

const statistics = `/proc/self/task/${process.pid}/schedstat`

function threadTime() {
  return Number(readFileSync(statistics, 'utf8').split(' ')[0]) / 1e6
}

/** Stalls in milliseconds against an unnoticeable pause. */
export function stallFigure(label, stalls) {
  return figure(label, {
    of: `a pause of ${pauseMs} ms`,
    ratios: stalls.map((ms) => ms / pauseMs),
    aim: { atMost: 1 },
  })
}
