// Runs the entry file of the built command again and again in this one process, for warm-command.ts, which sends what to
// run. Each run is the whole command: arguments, folder, environment, standard streams and exit code are those of the
// process while it goes on. Runs do not overlap. Argument: the entry file.
import { Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'

const [node, , command] = process.argv
const emitters = [process, process.stdout, process.stderr]

process.on('message', (message) => void (message === 'end' ? process.disconnect() : run(message)))

async function run({ number, args, cwd, env, end }) {
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  process.argv = [node, command, ...args]
  process.exitCode = undefined
  const input = Readable.from([])
  Object.defineProperty(process, 'stdin', { value: input, configurable: true })
  const before = emitters.map(listenersOf)
  // the entry file is evaluated anew for each address; what it imports stays
  await import(`${pathToFileURL(command).href}?run=${number}`)
  for (const [index, emitter] of emitters.entries()) removeOthers(emitter, before[index])
  input.destroy()
  process.stdout.write(`${end}${process.exitCode ?? 0}\n`)
  process.stderr.write(`${end}\n`)
  process.exitCode = undefined
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
