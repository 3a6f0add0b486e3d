// node resume-index.mjs <library> <folder>: what a resume does with the journal of a run. Prints the number of records
// that count.
const [library, folder] = process.argv.slice(2)
const { openFileRecords } = await import(`${library}/journal/source.js`)
const { indexRun } = await import(`${library}/journal/run-index.js`)
const { noMask } = await import(`${library}/journal/secrets.js`)

const source = openFileRecords(folder, { mask: noMask })
const index = await indexRun(source, { keeps: 'unfinished' })
let answers = 0
for (let number = 0; ; number += 1) {
  const node = index.tree.find(`pre/0:walk/data#${number}`)
  const location = node?.answer ?? node?.returned
  if (location === undefined) break
  // a resumed script looks up every answer; here only some are looked up, so that mainly the index is measured
  if (number % 100 === 0 && source.at(location).status !== 'ok') throw new Error('not the record')
  answers += 1
}
source.close()
console.log(`${index.records('run.start').length} ${answers} ${index.tree.find('task/1')?.done !== undefined}`)
