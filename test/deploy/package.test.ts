/** The packages as `npm publish` would send them. test/deploy/installed.test.ts and
 *  test/deploy/libraries.test.ts install them. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { libraries, pack } from '../support/program/package.ts'

t.test('the package has what is needed, and can be published', async t => {
  const { size, files } = await pack(t.testdir({}))
  const [, stated = ''] = /below ([\d.]+) MB/.exec(readFileSync('deploy/README.md', 'utf8')) ?? []
  t.ok(size < Number(stated) * 1e6, `${size} bytes; deploy/README.md says below ${stated} MB`)
  const paths = files.map(({ path }) => path)
  const others = paths.filter(path => !/^dist\/(?:program\/[^/]+\.js|lib\/.+\.json)$/.test(path))
  t.strictSame(others.toSorted(), [
    'CHANGELOG.md',
    'LICENSE',
    'NOTICE',
    'README.md',
    'deploy/watchglass.1',
    'package.json',
  ])
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, unknown>
  t.notOk('private' in manifest)
  t.match(manifest, {
    license: 'Apache-2.0',
    publishConfig: { access: 'public', provenance: true },
  })
})

for (const library of libraries) {
  t.test(`${library} is whole, and of the version of the program`, async t => {
    const folder = t.testdir({})
    const { files } = await pack(folder, library)
    const paths = files.map(({ path }) => path)
    for (const name of ['index.js', 'index.d.ts', 'README.md', 'LICENSE', 'NOTICE']) {
      t.ok(paths.includes(name), name)
    }
    const strays = paths.flatMap(path => {
      const text = readFileSync(join('dist/packages', library, path), 'utf8')
      const others = text.matchAll(/from ['"](@watchglass\/[\w-]+)['"]/g)
      return [...others]
        .filter(([, name]) => !name?.endsWith(library))
        .map(([one]) => `${path}: ${one}`)
    })
    t.strictSame(strays, [], 'nothing is imported that is not published')
    const manifest = readFileSync(join('dist/packages', library, 'package.json'), 'utf8')
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
    const expected = { name: `@watchglass/${library}`, version, type: 'module' }
    t.match(JSON.parse(manifest), expected)
  })
}
