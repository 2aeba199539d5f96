# Rulings in Korean. Terms as in the Korean rule document.
ball-white = 백색 공
ball-yellow = 황색 공
ball-red = 적색 공
ball-cue = 큐볼
ball-numbered = { $number }번 공
rail-head = 헤드
rail-foot = 풋
rail-left = 왼쪽
rail-right = 오른쪽
rails = { $rails } 레일
then = { " → " }

with-clauses = { $text } ({ $clauses }).
proposed = 제안: { $text }

scored = 득점: { $path }
missed-no-ball = 무득점: 큐볼이 오브젝트볼을 하나도 맞히지 못함
missed-one-ball = 무득점: 큐볼이 { $ball }만 맞힘
missed-few-rails = 무득점: 오브젝트볼2({ $ball }) 이전의 레일터치 { $rails }회, { $needed }회 필요
missed-serve = 무득점: 서브에서는 적색 공을 가장 먼저 맞혀야 함
missed-simultaneous = 무득점: { $rail } 레일과 { $ball }을 동시에 맞힘
jump-ball = 파울: { $ball } 점프볼

lag-nearer = 래깅 승: { $ball } (헤드 레일에 더 가까움)
lag-fault = 래깅 승: { $ball } (상대의 래깅 파울)
lag-both = 래깅 다시: 양쪽 모두 파울
lag-eye = 래깅 다시: 육안으로 판별할 수 없음

unclear-event = 판정 불가: { $event }에 달려 있음, 가능성 { $percent } %
unclear-order = 판정 불가: { $first }, { $second }의 간격이 { $gap } ± { $err } ms
unclear-pending = 판정 불가: 득점 진로이나 공이 멈춘 것을 확인하지 못함
unclear-unfinished = 판정 불가: 공이 멈춘 것을 확인하지 못했고 아직 득점할 수 있음
unclear-starts-before-recording = 판정 불가: 샷이 녹화 이전에 시작됨
unclear-ends-before-rest = 판정 불가: 공이 멈춘 것을 확인하지 못함
unclear-cut = 판정 불가: 샷 도중에 화면이 전환됨
unclear-camera-moved = 판정 불가: 샷 도중에 카메라가 움직임
unclear-frames-lost = 판정 불가: 판정에 필요한 화면이 빠짐
unclear-occluded = 판정 불가: 판정에 필요한 순간 큐볼이 가려짐
unclear-strike = 판정 불가: 어느 공을 쳤는지 확인하지 못함
unclear-not-a-cue-ball = 판정 불가: 누구의 큐볼도 아닌 { $ball }을 침
unclear-wrong-ball = 심판 확인: { $ball }의 차례가 아님. 오구이거나 앞선 판정이 잘못됨
unclear-two-strikes = 심판 확인: 공이 멈추기 전에 큐가 두 번 침
unclear-serve = 판정 불가: 서브가 아니라면 득점
unclear-lag-rest = 판정 불가: { $ball }이 멈춘 것을 확인하지 못함
unclear-lag-close = 판정 불가: 카메라로 가릴 수 없을 만큼 가까운 래깅
unclear-after-end = 시합이 끝난 뒤의 샷
unclear-no-module = 판정 불가: 이 경기의 규칙이 아직 없음

event-strike = { $ball } 타격
event-contact = { $ball }과 { $other }의 접촉
event-rail = { $ball }의 { $rail } 레일터치
event-pocket = { $ball }의 포켓
event-off-table = { $ball }의 테이블 이탈
event-rest = { $ball }의 정지

person-point = 심판 선언: 득점
person-no-point = 심판 선언: 무득점
person-legal = 심판 선언: 정상적인 샷
person-foul = 심판 선언: 파울
person-lag = 심판 선언: 래깅
person-review = 심판 선언: 보류
unstated = 이유 없음
