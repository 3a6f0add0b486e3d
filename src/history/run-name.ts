import { displayPath } from '../base/files.ts'

const inPack = /\/(?:\.aipack(?:-base)?\/pack\/(?:installed|custom)|\.baton\/packs)\/([^/]+)\/([^/]+)\/(.+)$/

/** The file of a run as it is named: an agent of a pack by its pack, any other one by its path. */
export function runName(file: string, workspace: string): string {
  const [, namespace = '', pack = '', path = ''] = inPack.exec(file) ?? []
  if (pack === '') return displayPath(workspace, file)
  const agent = path.replace(/(?:^|\/)main\.(?:aip|lua|md)$/, '').replace(/\.(?:aip|lua|md)$/, '')
  return `${namespace}@${pack}${agent === '' ? '' : `/${agent}`}`
}
