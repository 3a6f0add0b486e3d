// Has command-server.mjs run the command with these arguments, in this folder and environment, and writes what it writes.
// Arguments: the socket, the entry file, and those of the command.
import { spawnSync } from 'node:child_process'
import { writeSync } from 'node:fs'
import { connect } from 'node:net'

const [node, , socketPath, command, ...args] = process.argv
const socket = connect(socketPath)
let rest = ''
socket.end(JSON.stringify({ args, cwd: process.cwd(), env: process.env }))
socket.setEncoding('utf8').on('data', (piece) => {
  const lines = (rest + piece).split('\n')
  rest = lines.pop()
  for (const text of lines) take(JSON.parse(text))
})

function take({ descriptor, bytes, code, busy }) {
  if (descriptor !== undefined) writeAll(descriptor, Buffer.from(bytes, 'base64'))
  else if (busy) process.exitCode = spawnSync(node, [command, ...args], { stdio: 'inherit' }).status
  else process.exitCode = code
}

function writeAll(descriptor, bytes) {
  for (let written = 0; written < bytes.length;) {
    try {
      written += writeSync(descriptor, bytes, written)
    } catch (error) {
      // a pipe that is full for the moment, and one whose reader has left
      if (error.code === 'EPIPE') process.exit(141)
      if (error.code !== 'EAGAIN') throw error
    }
  }
}
