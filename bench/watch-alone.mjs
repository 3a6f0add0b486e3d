// Started by watch.mjs: chokidar on the given folder, printing `changed` for every change of a file.
import { watch } from 'chokidar'

const [folder] = process.argv.slice(2)
watch(folder, { ignoreInitial: true })
  .on('change', () => process.stderr.write('changed\n'))
  .on('ready', () => process.stderr.write('watching\n'))
