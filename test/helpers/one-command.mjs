import { createRequire } from 'node:module'
import { Readable } from 'node:stream'

const emitters = [process, process.stdout, process.stderr]
const require = createRequire(import.meta.url)

/**
 * Runs the entry file of the built command in this process, which has the arguments, the folder and the environment of
 * the call while it goes on, and its standard input, if any. Gives the exit code. Runs must not overlap.
 */
export async function runCommand(command, { args, cwd, env, input: text }) {
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  process.argv = [process.execPath, command, ...args]
  process.exitCode = undefined
  const input = Readable.from(text === undefined ? [] : [Buffer.from(text)])
  Object.defineProperty(process, 'stdin', { value: input, configurable: true })
  const before = emitters.map(listenersOf)
  // the first time it runs by itself
  const isLoaded = require.cache[require.resolve(command)] !== undefined
  const entry = require(command)
  await (isLoaded ? entry.run(args) : entry.ended)
  for (const [index, emitter] of emitters.entries()) removeOthers(emitter, before[index])
  input.destroy()
  const code = process.exitCode ?? 0
  process.exitCode = undefined
  return code
}

function listenersOf(emitter) {
  return new Map(emitter.eventNames().map((name) => [name, emitter.rawListeners(name)]))
}

/** A process that ends takes its listeners with it. */
function removeOthers(emitter, kept) {
  for (const [name, listeners] of listenersOf(emitter)) {
    for (const listener of listeners) if (!kept.get(name)?.includes(listener)) emitter.off(name, listener)
  }
}
