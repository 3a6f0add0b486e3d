// Runs the entry file of the built command again and again in this one process, for command-client.mjs: what a run writes
// goes to the client, in order. Arguments: the entry file, the path of the socket.
import { createServer } from 'node:net'
import { runCommand } from './one-command.mjs'

const [, , command, socketPath] = process.argv
let isBusy = false

const server = createServer({ allowHalfOpen: true }, (socket) => {
  let text = ''
  socket.setEncoding('utf8').on('data', (piece) => (text += piece))
  socket.on('error', () => undefined)
  socket.once('end', () => void serve(JSON.parse(text), socket))
})

server.listen(socketPath, () => process.send('ready'))
process.once('disconnect', () => process.exit())

async function serve(call, socket) {
  // the client runs what overlaps by itself
  if (isBusy) return socket.end(line({ busy: true }))
  isBusy = true
  const code = await run(call, socket)
  isBusy = false
  socket.end(line({ code }))
}

async function run(call, socket) {
  const restore = [capture(process.stdout, 1, socket), capture(process.stderr, 2, socket)]
  try {
    return await runCommand(command, call)
  } finally {
    for (const end of restore) end()
  }
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
