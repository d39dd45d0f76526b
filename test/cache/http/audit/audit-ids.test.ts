import t from 'tap'
import { createAuditIds } from '../../../../lib/cache/http/audit/audit-ids.ts'

t.test('audit ids are UUIDs, and no two are the same', t => {
  const makers = [createAuditIds(), createAuditIds()]
  const ids = makers.flatMap(make => Array.from({ length: 1000 }, () => make()))
  t.equal(new Set(ids).size, 2000)
  for (const id of ids.slice(0, 5)) {
    t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  }
  t.end()
})
