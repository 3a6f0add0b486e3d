// node swap.mjs FOLDER OUTSIDE: puts a link to OUTSIDE in the place of FOLDER and the folder back, until it is killed.
import { renameSync, symlinkSync } from 'node:fs'

const [folder, outside] = process.argv.slice(2)
symlinkSync(outside, `${folder}-link`)
process.stdout.write('ready\n')
for (;;) {
  try {
    renameSync(folder, `${folder}-aside`)
    renameSync(`${folder}-link`, folder)
    renameSync(folder, `${folder}-link`)
    renameSync(`${folder}-aside`, folder)
  } catch {
    // the command may have made or removed one of them in between
    try {
      renameSync(folder, `${folder}-${Date.now()}-${Math.random()}`)
    } catch {}
    try {
      renameSync(`${folder}-aside`, folder)
    } catch {}
  }
}
