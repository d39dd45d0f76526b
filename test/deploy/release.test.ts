/** The reasons against a release. `npm run release -- --dry-run` does the rest. */

import t from 'tap'
import { reasonsAgainst } from '../support/release/ready.ts'

const ready = {
  version: '1.2.0',
  changelog: '# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-11-24\n\n- New.\n',
  status: '',
  tags: ['v1.1.0'],
  note: '# 1.2.0\n\nNew.\n',
}

t.test('what is committed, dated and not tagged may be published', async t => {
  t.strictSame(reasonsAgainst(ready), [])
})

t.test('each reason against a release says what to do', async t => {
  const rows = [
    [{ status: ' M lib/cli/cli.ts\n' }, /not committed: {2}M lib\/cli\/cli\.ts/],
    [{ version: '1.3.0' }, /no section "## \[1\.3\.0\]/],
    [{ changelog: ready.changelog.replace(' - 2026-11-24', '') }, /has no date: "\[1\.2\.0\]"/],
    [{ changelog: ready.changelog.replace('ed]\n', 'ed]\n\n- More.\n') }, /under Unreleased/],
    [{ note: undefined }, /^deploy\/releases\/v1\.2\.0\.md is missing/],
    [{ note: 'line\n'.repeat(200) }, /^deploy\/releases\/v1\.2\.0\.md has more than 120 lines/],
    [{ tags: ['v1.2.0'] }, /the tag v1\.2\.0 exists/],
  ] as const
  for (const [change, reason] of rows) {
    const reasons = reasonsAgainst({ ...ready, ...change })
    t.equal(reasons.length, 1)
    t.match(reasons[0], reason)
  }
})
