import { createLocalQueue } from '../../src/run/local-queue.ts'
import { describeTaskQueue } from '../contract/task-queue.ts'

describeTaskQueue('in this process', createLocalQueue)
