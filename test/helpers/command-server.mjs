// Runs the entry file of the built command again and again in this one process, for command-client.pl: what a run writes
// goes to the client, in order. Arguments: the entry file, the path of the socket.
import { createServer } from 'node:net'
import { runCommand } from './one-command.mjs'

const [, , command, socketPath] = process.argv
let isBusy = false

const server = createServer({ allowHalfOpen: true }, (socket) => {
  let text = ''
  socket.setEncoding('utf8').on('data', (piece) => (text += piece))
  socket.on('error', () => undefined)
  socket.once('end', () => void serve(callOf(text), socket))
})

server.listen(socketPath, () => process.send('ready'))
process.once('disconnect', () => {
  server.close()
  // anything that a run leaves open stays open forever
  setTimeout(() => process.exit(1), 20_000).unref()
})

/** The folder, the number of arguments, these, and the variables of the environment. */
function callOf(text) {
  const [cwd, count, ...rest] = text.split('\0')
  const args = rest.splice(0, Number(count))
  const env = rest.map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)])
  return { cwd, args, env: Object.fromEntries(env) }
}

async function serve(call, socket) {
  // the client runs what overlaps by itself
  if (isBusy) return socket.end(message('b', ''))
  isBusy = true
  const code = await run(call, socket)
  isBusy = false
  socket.end(message('c', String(code)))
}

async function run(call, socket) {
  const restore = [capture(process.stdout, 'o', socket), capture(process.stderr, 'e', socket)]
  try {
    return await runCommand(command, call)
  } finally {
    for (const end of restore) end()
  }
}

function capture(stream, kind, socket) {
  const { write } = stream
  stream.write = (text, ...rest) => {
    socket.write(message(kind, text))
    rest.find((one) => typeof one === 'function')?.()
    return true
  }
  return () => (stream.write = write)
}

/** A letter that says what it is, the length of what follows, and that. */
function message(kind, content) {
  const bytes = Buffer.from(content)
  const head = Buffer.from(`${kind}    `)
  head.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([head, bytes])
}
