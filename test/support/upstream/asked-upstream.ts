/** An upstream that only notes what it is asked: tests answer its questions themselves. */

import type {
  ForwardControl,
  ForwardRequest,
  ForwardSink,
} from '../../../lib/proxy/upstream/upstream.ts'

export interface AskedQuestion {
  readonly request: ForwardRequest
  /** Takes the answer. */
  readonly sink: ForwardSink
  isAborted: boolean
  /** The answer may go on, after `data` has returned false. */
  resumed: number
}

export class AskedUpstream {
  readonly questions: AskedQuestion[] = []

  forward(request: ForwardRequest, sink: ForwardSink): ForwardControl {
    const question: AskedQuestion = { request, sink, isAborted: false, resumed: 0 }
    this.questions.push(question)
    return {
      resume: () => void question.resumed++,
      abort: () => {
        question.isAborted = true
      },
    }
  }
}
