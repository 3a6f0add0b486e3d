import { join } from 'node:path'
import { listPacks } from '../pack/find-pack.ts'
import { defaultMerge } from '../pack/manifest.ts'
import { packRoots } from '../pack/places.ts'
import { unusedCores, unusedCoreText } from '../pack/reserved.ts'
import { type Check, checksOf, type Patient } from './check.ts'

/** The packs that can be named here, and what is wrong with their manifests. */
export async function checkPacks(patient: Patient, workspace: string): Promise<readonly Check[]> {
  const roots = packRoots(workspace, patient)
  const packs = listPacks({ packRoots: roots, builtInDir: join(patient.root, 'agents') })
  const broken = await Promise.all(
    packs.map(async (pack): Promise<readonly Check[]> => {
      try {
        await defaultMerge({ pack: { ...pack, ref: pack.identity }, builtIn: false })
        return []
      } catch (error) {
        return checksOf('packs', error, 'warn')
      }
    }),
  )
  const unused = unusedCores(roots).map((dir): Check => {
    return { name: 'packs', status: 'warn', message: unusedCoreText(dir), hint: 'Remove it.' }
  })
  return [
    { name: 'packs', status: 'ok', message: packs.map(({ identity }) => identity).join(', ') },
    ...unused,
    ...broken.flat(),
  ]
}
