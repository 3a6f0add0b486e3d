// Runs modules in the process of command-server.mjs as `node MODULE` does, each anew. Argument: the path of the module.
const path = require('node:path')
const { pathToFileURL } = require('node:url')

let count = 0

async function run([module]) {
  count += 1
  try {
    await import(`${pathToFileURL(path.resolve(module)).href}?run=${count}`)
  } catch (error) {
    process.stderr.write(`${error.stack}\n`)
    process.exitCode = 1
  }
}

exports.run = run
exports.ended = run(process.argv.slice(2))
