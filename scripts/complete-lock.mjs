// Adds to package-lock.json the packages for other platforms that npm omits if the registry in use lacks them. Without
// them, `npm ci` rejects the file, and other platforms do not install them. Their hashes are unknown here.
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const file = join(dirname(dirname(fileURLToPath(import.meta.url))), 'package-lock.json')
const lock = JSON.parse(readFileSync(file, 'utf8'))
const { packages } = lock

const added = Object.entries(packages).flatMap(([folder, { optionalDependencies = {}, dev, engines }]) =>
  Object.entries(optionalDependencies)
    .filter(([name]) => !isLocked(name, folder))
    .map(([name, version]) => [`node_modules/${name}`, { version, ...platformOf(name), dev, optional: true, engines }]),
)
const all = [...Object.entries(packages), ...added].toSorted(([left], [right]) => left.localeCompare(right, 'en'))
writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(all) }, null, 2)}\n`)
console.log(`${added.length} packages were added`)

/** Packages are looked up from the folder of the dependent package upwards. */
function isLocked(name, folder) {
  if (packages[join(folder, 'node_modules', name)] !== undefined) return true
  return folder !== '' && isLocked(name, folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/'))))
}

/** The platform in a name such as `@oxlint/binding-linux-x64-musl`. */
function platformOf(name) {
  const [os, cpu, abi = ''] = name.replace(/^.*\/(?:binding-)?/, '').split('-')
  const libc = abi.startsWith('gnu') ? ['glibc'] : abi.startsWith('musl') ? ['musl'] : undefined
  return { cpu: [cpu], os: [os], libc }
}
