import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findPack, listPacks, packFolder, packRoots } from '../../src/pack/find-pack.ts'
import { parsePackRef, unusedCores } from '../../src/pack/pack-ref.ts'
import { tempTree } from '../helpers/temp.ts'

const order = [
  'wks/.baton/packs',
  'wks/.aipack/pack/custom',
  'data/packs',
  'home/.aipack-base/pack/custom',
  'home/.aipack-base/pack/installed',
]

function world(...packs: readonly string[]): { readonly root: string; readonly roots: readonly string[] } {
  const root = tempTree(Object.fromEntries(packs.map((pack) => [`${pack}/main.aip`, ''])))
  const env = { BATON_HOME: root }
  return { root, roots: packRoots(join(root, 'wks'), { env, home: join(root, 'home') }) }
}

function dirOf(ref: string, { root, roots }: ReturnType<typeof world>): string | undefined {
  return findPack(parsePackRef(ref), { packRoots: roots })?.dir.slice(root.length + 1)
}

describe('the search for packs', () => {
  it('checks five folders', () => {
    const { root, roots } = world()
    expect(roots.map((folder) => folder.slice(root.length + 1))).toEqual(order)
  })

  it.each(order.map((folder, index) => [folder, index] as const))(
    'prefers %s over everything after it (vector 12)',
    (folder, index) => {
      const packs = world(...order.slice(index).map((each) => `${each}/ns/p`))
      expect(dirOf('ns@p', packs)).toBe(`${folder}/ns/p`)
    },
  )

  it('follows links, and returns the path of the link', () => {
    const packs = world('elsewhere/p')
    mkdirSync(join(packs.root, 'wks/.baton/packs/ns'), { recursive: true })
    symlinkSync(join(packs.root, 'elsewhere/p'), join(packs.root, 'wks/.baton/packs/ns/p'))
    expect(dirOf('ns@p', packs)).toBe('wks/.baton/packs/ns/p')
  })

  it('finds nothing in missing folders or files', () => {
    const packs = world()
    expect(dirOf('ns@p', packs)).toBeUndefined()
    expect(findPack(parsePackRef('ns@p'), { packRoots: [tempTree({ 'ns/p': 'a file' })] })).toBeUndefined()
  })

  it('finds the built-in agents as baton@core, even if another pack has that name', () => {
    const builtInDir = tempTree({ 'a.aip': '' })
    expect(findPack(parsePackRef('baton@core'), { packRoots: [], builtInDir })?.dir).toBe(builtInDir)
    const { roots, root } = world(...order.map((folder) => `${folder}/baton/core`))
    for (const ref of ['baton@core', '@core', 'baton@core/reviewer']) {
      expect(findPack(parsePackRef(ref), { packRoots: roots, builtInDir })?.dir).toBe(builtInDir)
    }
    expect(listPacks({ packRoots: roots, builtInDir }).map(({ dir }) => dir)).toEqual([builtInDir])
    expect(findPack(parsePackRef('baton@core'), { packRoots: roots })).toBeUndefined()
    expect(unusedCores(roots)).toEqual(order.map((folder) => join(root, folder, 'baton/core')))
  })
})

it.each(['baton', 'Baton'])('finds no other pack in the namespace %s, with or without its namespace', (namespace) => {
  const { roots } = world(...order.map((folder) => `${folder}/${namespace}/tools`))
  for (const ref of [`${namespace}@tools`, '@tools']) {
    expect(findPack(parsePackRef(ref), { packRoots: roots })).toBeUndefined()
  }
  expect(listPacks({ packRoots: roots })).toEqual([])
})

describe('a name without a namespace', () => {
  it('is the only pack that matches', () => {
    expect(dirOf('@p', world('data/packs/ns/p', 'wks/.baton/packs/ns/p', 'data/packs/ns/q'))).toBe(
      'wks/.baton/packs/ns/p',
    )
  })

  it('is an error that lists all matches', () => {
    const packs = world('data/packs/b/p', 'wks/.aipack/pack/custom/a/p')
    expect(() => dirOf('@p', packs)).toThrow('"@p" is ambiguous: it may be a@p or b@p')
  })
})

it('packs are listed by identity, without shadowed ones', () => {
  const { root, roots } = world('data/packs/b/p', 'wks/.baton/packs/b/p', 'data/packs/a/x')
  expect(listPacks({ packRoots: roots }).map(({ identity, dir }) => `${identity} ${dir.slice(root.length)}`)).toEqual([
    'a@x /data/packs/a/x',
    'b@p /wks/.baton/packs/b/p',
  ])
})

describe('the folder of a reference', () => {
  const packs = world('data/packs/ns/p')
  const places = { packRoots: packs.roots, workspace: '/w', aipackBase: '/h/.aipack-base' }

  it.each([
    ['ns@p/x', join(packs.root, 'data/packs/ns/p')],
    ['ns@p$base/x', '/h/.aipack-base/support/pack/ns/p'],
    ['ns@p$workspace', '/w/.aipack/support/pack/ns/p'],
    ['no@such$base', '/h/.aipack-base/support/pack/no/such'],
    ['@p$workspace', '/w/.aipack/support/pack/ns/p'],
  ])('%s', (ref, folder) => {
    expect(packFolder(parsePackRef(ref), places)).toBe(folder)
  })

  it('is an error for a missing pack, with a suggestion', () => {
    expect(() => packFolder(parsePackRef('ns@pp/x'), places)).toThrow(
      expect.objectContaining({
        code: 'AGENT_NOT_FOUND',
        message: 'No aipack matches for ns@pp/x',
        hint: expect.stringContaining('Did you mean "ns@p"?'),
      }),
    )
  })
})
