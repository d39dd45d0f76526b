import t from 'tap'
import { parseQuery } from '../../../lib/kube/request/request.ts'
import { RecentQuestions } from '../../../lib/views/question/recent-questions.ts'
import { refusalOf } from '../../support/kube/kube-builders.ts'
import { encoder, newEncoder, routeOfPods } from '../../support/views/view-world.ts'

const route = routeOfPods()

function lineOf(query: string) {
  return { raw: `/views/api/v1/pods?${query}`, query: parseQuery(query) }
}

t.test('a line that is asked for again has the question that it had', async t => {
  const recent = new RecentQuestions()
  const first = recent.of(lineOf('sort=-age'), route, encoder)
  t.equal(recent.of(lineOf('sort=-age'), route, encoder), first)
  t.not(recent.of(lineOf('sort=age'), route, encoder), first)
})

t.test('a resource with another definition is asked anew', async t => {
  const recent = new RecentQuestions()
  const first = recent.of(lineOf('sort=-age'), route, encoder)
  const resource = { ...route.resource }
  t.not(recent.of(lineOf('sort=-age'), { ...route, resource }, encoder), first)
  t.not(recent.of(lineOf('sort=-age'), route, newEncoder()), first)
})

t.test('a mistake is refused each time, and a long line is not kept', async t => {
  const recent = new RecentQuestions()
  const refused = (): unknown => recent.of(lineOf('sort=nothing'), route, encoder)
  t.match(refusalOf(refused)?.message, 'sort: unknown column')
  t.match(refusalOf(refused)?.message, 'sort: unknown column')
  const long = lineOf(
    `search=${'a'.repeat(250)}&where=${encodeURIComponent('name!=b '.padEnd(900))}`,
  )
  t.not(recent.of(long, route, encoder), recent.of(long, route, encoder))
})
