// Runs the entry file of the built command again and again in this one process, for command-client.mjs. Each run is the
// whole command: arguments, folder, environment and exit code are those of the process while it goes on, and what it
// writes goes to the client, in order. Arguments: the entry file, the path of the socket.
import { createServer } from 'node:net'
import { Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'

const [node, , command, socketPath] = process.argv
const emitters = [process, process.stdout, process.stderr]
let isBusy = false
let runs = 0

const server = createServer({ allowHalfOpen: true }, (socket) => {
  let text = ''
  socket.setEncoding('utf8').on('data', (piece) => (text += piece))
  socket.on('error', () => undefined)
  socket.once('end', () => void serve(JSON.parse(text), socket))
})

async function serve(call, socket) {
  // the client runs what overlaps by itself
  if (isBusy) return socket.end(line({ busy: true }))
  isBusy = true
  const code = await run(call, socket)
  isBusy = false
  socket.end(line({ code }))
}

server.listen(socketPath, () => process.send('ready'))
process.once('disconnect', () => process.exit())

async function run({ args, cwd, env }, socket) {
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  process.argv = [node, command, ...args]
  process.exitCode = undefined
  const input = Readable.from([])
  Object.defineProperty(process, 'stdin', { value: input, configurable: true })
  const before = emitters.map(listenersOf)
  const restore = [capture(process.stdout, 1, socket), capture(process.stderr, 2, socket)]
  // the entry file is evaluated anew for each address; what it imports stays
  await import(`${pathToFileURL(command).href}?run=${(runs += 1)}`)
  for (const end of restore) end()
  for (const [index, emitter] of emitters.entries()) removeOthers(emitter, before[index])
  input.destroy()
  const code = process.exitCode ?? 0
  process.exitCode = undefined
  return code
}

function capture(stream, descriptor, socket) {
  const { write } = stream
  stream.write = (text, ...rest) => {
    socket.write(line({ descriptor, bytes: Buffer.from(text).toString('base64') }))
    rest.find((one) => typeof one === 'function')?.()
    return true
  }
  return () => (stream.write = write)
}

function line(message) {
  return `${JSON.stringify(message)}\n`
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
