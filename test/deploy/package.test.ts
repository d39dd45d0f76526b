/** The package as `npm publish` would send it. test/deploy/installed.test.ts installs it. */

import { readFileSync } from 'node:fs'
import t from 'tap'
import { pack } from '../support/program/package.ts'

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
