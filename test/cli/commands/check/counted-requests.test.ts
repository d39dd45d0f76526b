import t from 'tap'
import { countedRequests } from '../../../../lib/cli/commands/check/upstream/counted-requests.ts'

const isPods = (name: string): boolean => name === 'pods'

t.test('reads of mirrored resources are told apart from all else', async t => {
  const text = [
    '# HELP apiserver_request_total Counter of apiserver requests',
    'apiserver_request_total{code="200",group="",resource="pods",subresource="",verb="GET"} 1',
    'apiserver_request_total{code="200",group="",resource="pods",subresource="log",verb="GET"} 2',
    'apiserver_request_total{code="201",group="",resource="pods",subresource="",verb="POST"} 4',
    'apiserver_request_total{code="409",group="",resource="pods",subresource="",verb="PUT"} 8',
    'apiserver_request_total{code="200",group="apps",resource="pods",subresource="",verb="LIST"} 16',
    'apiserver_request_total{code="200",group="",resource="",subresource="/healthz",verb="GET"} 32',
    'apiserver_request_total_other{resource="pods",verb="GET"} 64',
    'apiserver_longrunning_requests{group="",resource="pods",subresource="",verb="WATCH"} 7',
    'apiserver_response_sizes_sum{group="",resource="pods",subresource="",verb="LIST"} 1.5e+03',
    'apiserver_response_sizes_sum{group="",resource="nodes",subresource="",verb="LIST"} 500',
    'process_start_time_seconds 1000',
    'apiserver_request_total{resource="pods",verb="GET"} what',
  ].join('\n')
  t.strictSame(countedRequests(text, isPods, 1600), {
    all: 63,
    mirrored: 1,
    bytes: 2000,
    mirroredBytes: 1500,
    watches: 7,
    seconds: 600,
    writes: new Map([['pods', 4]]),
  })
})

t.test('a server without these metrics has counted nothing', async t => {
  const { all, seconds } = countedRequests('', isPods, 0)
  t.strictSame([all, seconds], [0, undefined])
})
